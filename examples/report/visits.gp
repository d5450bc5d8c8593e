# Draws the dashboard from the files that dashboard.sql writes.
set terminal svg size 960,620 font "sans,11" background "#ffffff"
set output "visits.svg"
set datafile separator "\t"
set key autotitle columnhead
set multiplot layout 2,1 title "A web site's visits, kept in wide tables" font ",14"
set border 3 lc rgb "#888888"
set tics nomirror
set xdata time
set timefmt "%Y-%m-%d %H:%M"
set format x "%a %d\n%H:%M"
set ylabel "in an hour"
set key top left
set style fill solid 0.6
plot "hours.tsv" using 1:2 with fillsteps lc rgb "#9ecae1" title "requests", \
     "hours.tsv" using 1:3 with steps lw 2 lc rgb "#08519c" title "visitors"
set xdata
set format x "%s"
set xlabel "country of the address"
set ylabel "visitors"
unset key
set boxwidth 0.7
set yrange [0:*]
plot "countries.tsv" using 0:2:xtic(1) with boxes lc rgb "#fd8d3c"
unset multiplot
