#
# gallery.pl: generates doc/gallery.md, the list of worked systems, from the comments
# "-- S12, S13: title" in sql/gallery_*.sql.  With --check it writes nothing and fails if the
# page differs from the scripts, a system has no script, or a script is not in sql/schedule
# or has no expected output.
#
#   perl test/gallery.pl [--check]
#
# The first line of a script is its title.  Uses modules of perl-base only.
#
use strict;
use warnings;
my $last = 119;					# systems have the numbers S1 to S119
my $check = @ARGV && $ARGV[0] eq '--check';
(my $root = $0) =~ s{[^/]*$}{..};
chdir $root or die "$root: $!";

my (%shown, %title, %first, $bad);
sub wrong { print "# $_[0]\n"; $bad = 1; }

for my $file (sort glob 'sql/gallery_*.sql')
{
	open my $h, '<', $file or die "$file: $!";
	while (<$h>)
	{
		if ($. == 1 && /^-- (?:Gallery: )?(.*\S)/) { $title{$file} = ucfirst $1; }
		next unless /^-- (S\d+(?:, S\d+)*): (.*\S)/;
		my ($ids, $text) = ($1, $2);
		for my $n ($ids =~ /(\d+)/g)
		{
			if ($n < 1 || $n > $last) { wrong("$file:$.: S$n does not exist"); next; }
			push @{$shown{$n}}, [$file, $., $text];
			$first{$file} = $n if !$first{$file} || $n < $first{$file};
		}
	}
	close $h;
	if (!$title{$file}) { $title{$file} = ''; wrong("$file: the first line is not a comment with the title"); }
}

my $run = do { local (@ARGV, $/) = 'sql/schedule'; <> };
for my $file (sort keys %title)
{
	my ($name) = $file =~ m{([^/]+)\.sql$};
	if ($run !~ /\b$name\b/) { wrong("$file is not in sql/schedule"); }
	if (!-s "expected/$name.out") { wrong("$file: expected/$name.out is missing"); }
}

my $page = <<'END';
# The gallery

Worked systems from the wide-column literature, as SQL that runs. Each script is a tutorial to read from the top, and a
regression test: `expected/` has its output under the same name, with results and plans after each statement. To try a
script, use a checkout and an empty database with the extension:

```sh
createdb gallery && psql -d gallery -c 'CREATE EXTENSION widetable'
psql -d gallery -a -f sql/gallery_model.sql | less
```

Each script creates its own tables, so the scripts can be run one after another. Some load [data](../test/data/README.md)
from `test/data`: start psql in the top directory of the checkout. Newcomers begin at the top of the list.
`perl test/gallery.pl` generates this page from the scripts.

| script | about |
| --- | --- |
END
$page .= "| [$_](../$_) | $title{$_} |\n" for sort { ($first{$a} // 999) <=> ($first{$b} // 999) || $a cmp $b } keys %title;
$page .= "\n| system | shown | at |\n| --- | --- | --- |\n";
for my $n (1 .. $last)
{
	if (!$shown{$n}) { wrong("no script shows S$n"); next; }
	for my $s (@{$shown{$n}})
	{
		my ($file, $line, $text) = @$s;
		(my $name = $file) =~ s{^sql/}{};
		$text =~ s/\|/\\|/g;
		$page .= "| S$n | $text | [$name:$line](../$file#L$line) |\n";
	}
}

if ($check)
{
	local $/;
	my $old = '';
	if (open my $h, '<', 'doc/gallery.md') { $old = <$h>; }
	if ($old ne $page) { wrong("doc/gallery.md differs from the scripts: run perl test/gallery.pl"); }
	print $bad ? 'not ok' : 'ok', " - the gallery shows every system, and doc/gallery.md is up to date\n";
}
else
{
	open my $h, '>', 'doc/gallery.md' or die "doc/gallery.md: $!";
	print $h $page;
	close $h or die "doc/gallery.md: $!";
}
exit($bad ? 1 : 0);
